package dev.interlock.report;

/** HTML without a template. */
public final class Html {
  private Html() {}

  /** {@return the text, escaped} */
  public static String text(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
