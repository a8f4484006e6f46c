"""Mends code: `seen` keeps what was shown, `options` what may be done, `code` says how usual an edit makes a line."""
