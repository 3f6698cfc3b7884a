package dev.interlock.cli;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintWriter;

/** Writes one JSON document, indented: records as objects, nulls as null. */
final class Json {
  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().serializeNulls().disableHtmlEscaping().create();

  private Json() {}

  static void print(PrintWriter out, Record document) {
    GSON.toJson(document, out);
    out.println();
  }
}
