"""report.html: one file that shows a run's trees in a browser, without a network."""

from .page import add_report, renew_report, write_report

__all__ = ["add_report", "renew_report", "write_report"]
