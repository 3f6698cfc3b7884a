package dev.interlock.cli;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintWriter;

/** Writes JSON: records as objects, nulls as null. */
final class Json {
  private static final Gson LINE =
      new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
  private static final Gson INDENTED = LINE.newBuilder().setPrettyPrinting().create();

  private Json() {}

  /** Writes the one document of a command, indented. */
  static void print(PrintWriter out, Record document) {
    INDENTED.toJson(document, out);
    out.println();
  }

  /** Writes one of several documents, on one line. */
  static void printLine(PrintWriter out, Record document) {
    out.println(LINE.toJson(document));
  }
}
