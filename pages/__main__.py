"""Write every page that is made from code and results."""

from pages import choosing, command_line, deviations, figures, findings, notice, parse_tree, readme, reference
from pages.found import RESULTS
from torchcaps._atomic import write_text

FOLDER = RESULTS.parent / "docs"
PAGES = {page.NAME: page.render for page in (choosing, command_line, deviations, findings, notice)} | findings.PAGES


def main() -> None:
    """Those in Markdown, the README's part, then the figures."""
    (FOLDER / "findings").mkdir(exist_ok=True)
    for name, render in PAGES.items():
        write_text(FOLDER / name, render())
    write_text(readme.README, readme.render(readme.README.read_text()))
    reference.write(FOLDER / "reference")
    figures.write(FOLDER / "figures")
    findings.draw(FOLDER / "findings")
    parse_tree.draw()


if __name__ == "__main__":
    main()
