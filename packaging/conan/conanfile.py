"""The library as a Conan 2 package: conan create packaging/conan [-o "tare/*:parts=core"] [-o "tare/*:shared=True"]."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir

PARTS = ("core", "variant", "gc")


class Tare(ConanFile):
    name = "tare"
    description = (
        "Memory building blocks: atoms, text streams, buffers, GVariant and D-Bus values, a compact garbage collector"
    )
    license = "Apache-2.0"
    topics = ("memory", "allocator", "strings", "garbage-collection", "gvariant", "dbus")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "parts": ["all", *PARTS]}
    default_options = {"shared": False, "fPIC": True, "parts": "all"}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = Path(self.recipe_folder, "..", "..", "include", "tare", "version.h").read_text(encoding="utf-8")
        self.version = ".".join(re.findall(r"TARE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        tree = Path(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/lib/*"):
            copy(self, pattern, tree, self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def _parts(self):
        return PARTS if self.options.parts == "all" else ("core", *{str(self.options.parts)} - {"core"})

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TARE_LIBRARY_ONLY"] = True
        toolchain.cache_variables["TARE_PARTS"] = ";".join(self._parts())
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan's own generators write these for the consumer.
        rmdir(self, Path(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, Path(self.package_folder, "lib", "cmake"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "tare")
        self.cpp_info.set_property("pkg_config_name", "tare")
        for part in self._parts():
            component = self.cpp_info.components[part]
            component.set_property("cmake_target_name", f"tare::{part}")
            if part == "core":
                component.libs = ["tare"]
                component.system_libs = ["pthread"]
                component.defines = ["TARE_SHARED"] if self.options.shared else []
            else:
                component.requires = ["core"]
