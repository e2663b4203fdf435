"""A plugin of pytest under which a skipped test is a failed one: continuous integration is to have all it needs."""

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _refused((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _refused((yield))


def _refused(report):
    if report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped where nothing may be: {report.longrepr[2]}"
    return report
