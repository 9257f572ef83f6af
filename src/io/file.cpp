#include "io/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace lupine {

int read_file(const std::string& path, std::string& text) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  std::array<char, 4096> part;
  ssize_t length = 0;
  while ((length = ::read(descriptor, part.data(), part.size())) != 0) {
    if (length > 0) text.append(part.data(), static_cast<std::size_t>(length));
    if (length < 0 && errno != EINTR) break;
  }
  const int error = length < 0 ? errno : 0;
  ::close(descriptor);
  return error;
}

}  // namespace lupine
