# SPDX-License-Identifier: BSD-3-Clause
"""The site that run/docs builds: the Markdown pages where they lie in the tree, the C++ API from Doxygen's
XML, and the Python API from its sources, which are read and not imported."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "Speedwell"
author = "The Speedwell authors"
copyright = "the Speedwell authors"
version = re.search(r"project\(Speedwell VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
release = version

extensions = ["myst_parser", "breathe", "sphinx.ext.napoleon", "autoapi.extension"]
root_doc = "README"
exclude_patterns = ["build", ".*", "**/node_modules", "tests/c_interface", "share"]
myst_heading_anchors = 4
myst_enable_extensions = ["tasklist"]

breathe_projects = {"speedwell": str(ROOT / "build/docs/xml")}
breathe_default_project = "speedwell"
breathe_default_members = ("members",)
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}

autoapi_dirs = [str(ROOT / "python/speedwell")]
autoapi_root = "docs/site/python"
autoapi_options = ["members", "imported-members", "show-module-summary"]
autoapi_add_toctree_entry = False
autoapi_keep_files = False

# The version is made by the build. Each header opens the namespace again.
suppress_warnings = ["autoapi.python_import_resolution", "duplicate_declaration.cpp"]

html_theme = "furo"
html_title = f"Speedwell {version}"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sourcelink = False
# Programs and reports are shown as they are.
highlight_language = "none"

NAVIGATION = """
```{toctree}
:hidden:
:caption: A cluster
docs/clusters
docs/beside-others
docs/gpu-check
docs/benchmarks
docs/watching
docs/reading-the-numbers
docs/tuning
docs/prediction
```

```{toctree}
:hidden:
:caption: Arrays
docs/python
docs/solving
docs/linking
docs/names
```

```{toctree}
:hidden:
:caption: Reference
All pages <docs/README>
docs/installing
packaging/README
docs/options
C++ <docs/site/cpp>
C <docs/site/c>
Python <docs/site/python/speedwell/index>
docs/numerics
docs/kernels
results/README
CHANGELOG
SECURITY
```

```{toctree}
:hidden:
:caption: The code
src/ARCHITECTURE
src/DECISIONS
CONTRIBUTING
src/factor/README
src/refine/README
src/solve/README
src/device/cpu/README
src/device/cuda/README
src/comm/README
src/app/README
src/paper/README
python/README
tests/README
```
"""


def add_navigation(app, docname, source):
    if docname == root_doc:
        source[0] += NAVIGATION


def setup(app):
    app.connect("source-read", add_navigation)
