package dev.interlock.cli;

import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;

/** Writes one JSON document, indented, in UTF-8. */
final class Json {

  /** Writes the document's content. */
  @FunctionalInterface
  interface Content {
    /** Writes exactly one value. */
    void writeTo(JsonWriter json) throws IOException;
  }

  private Json() {}

  static void print(PrintWriter out, Content content) {
    try {
      JsonWriter json = new JsonWriter(out);
      json.setIndent("  ");
      content.writeTo(json);
      json.flush();
    } catch (IOException e) { // a PrintWriter keeps its errors to itself
      throw new UncheckedIOException(e);
    }
    out.println();
  }
}
