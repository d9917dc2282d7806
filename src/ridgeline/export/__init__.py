"""A view in other programs' formats: traces, tables, scenarios, alert rules, dashboards."""
