package dev.interlock.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Rows below headings, in columns as wide as their contents. */
final class Table {
  private final List<List<String>> rows = new ArrayList<>();

  Table(List<String> headings) {
    rows.add(headings);
  }

  void add(List<String> row) {
    rows.add(row);
  }

  void print(PrintWriter out) {
    int[] widths = new int[rows.get(0).size()];
    for (List<String> row : rows) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        line.append(row.get(i)).append(" ".repeat(widths[i] - row.get(i).length() + 2));
      }
      out.println(line.toString().stripTrailing());
    }
  }
}
