package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;

/**
 * A URI that the user named, of the form {@code scheme://[user information@]host[:port],...}.
 *
 * @param text the URI as it was named; may hold a password
 * @param first the first address, with the user information before it
 */
public record EndpointUri(String text, String first) {

  /**
   * Takes the URI apart.
   *
   * @throws TestbedException if it is not of this scheme; the message does not repeat it
   */
  public static EndpointUri parse(String text, String scheme) {
    String prefix = scheme + "://";
    if (!text.startsWith(prefix)) {
      throw new TestbedException("the named endpoint must begin with " + prefix);
    }
    return new EndpointUri(text, text.substring(prefix.length()).replaceFirst("[,/?].*", ""));
  }

  /** The query with its question mark, or nothing. */
  public String query() {
    int mark = text.indexOf('?');
    return mark < 0 ? "" : text.substring(mark);
  }

  /** The first address without user information. */
  String firstAddress() {
    return first.substring(first.lastIndexOf('@') + 1);
  }

  public String firstHost() {
    return firstAddress().replaceFirst(":\\d+$", "");
  }

  public int firstPort(int otherwise) {
    String address = firstAddress();
    String port = address.substring(firstHost().length());
    return port.isEmpty() ? otherwise : Integer.parseInt(port.substring(1));
  }

  /** Leaves out what may be secret. */
  @Override
  public String toString() {
    return firstAddress();
  }
}
