package dev.interlock.report;

/** HTML escaping, for reports that build a part of their page in code. */
public final class Html {
  private Html() {}

  /** {@return the text with HTML's special characters escaped} */
  public static String text(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
