"""Writes an apt package list as JSON: an object a package, a dependency as [name, relation, version]."""

import json
import re
import sys

packages = []
for paragraph in sys.stdin.read().split("\n\n"):
    package = dict(re.findall(r"^([\w-]+): *(.*)$", paragraph, re.MULTILINE))
    for field in ("Depends", "Recommends", "Suggests", "Tag"):
        if field in package:
            package[field] = [re.findall(r"[^\s(),|]+", each) for each in package[field].split(",")]
    packages.append(package)
json.dump(packages, sys.stdout)
