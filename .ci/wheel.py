"""What a wheel and an sdist hold: lessons without outputs, and README with whole addresses.

Hatchling calls both classes (``pyproject.toml``).  Lessons lie in a wheel as ``lab`` hands them
out, in a tenth of their bytes; an editable installation reads the clone's own.  README's links and
pictures become addresses, because the package index shows it without the files beside it.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: Where a target keeps the lessons.
FOLDERS = {"wheel": "trainium_edu/notebooks", "sdist": "notebooks"}


class LessonsWithoutOutputs(BuildHookInterface):
    """Puts the lessons into a wheel or an sdist as learners get them."""

    def initialize(self, version, build_data):
        """Write the copies, and name them to the builder."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from trainium_edu.cli.working_copy import stripped

        self.copies = Path(tempfile.mkdtemp())
        lessons = self.copies / "notebooks"
        unwanted = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(Path(self.root, "notebooks"), lessons, ignore=unwanted)
        for path in lessons.rglob("*.ipynb"):
            book = stripped(json.loads(path.read_text(encoding="utf-8")))
            path.write_text(json.dumps(book, indent=1, ensure_ascii=False), encoding="utf-8")
        build_data["force_include"][str(lessons)] = FOLDERS[self.target_name]

    def finalize(self, version, build_data, artifact_path):
        """Remove the copies."""
        if version != "editable":
            shutil.rmtree(self.copies)


class ReadmeWithAddresses(MetadataHookInterface):
    """Reads README for the package index."""

    def update(self, metadata):
        """Set the text, its relative links turned into addresses."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = metadata["urls"]["Repository"]
        text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\1{repository}/raw/HEAD/", text)
        text = re.sub(r"(?<=\]\()(?!https?:|#)", f"{repository}/blob/HEAD/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
