# Relative links become their text, relative images nothing; links with a scheme stay.
s/!\[[^]]*\]\([^ ,:)]+\)//g
s/\[([^][]+)\]\([^ ,:)]+\)/\1/g
