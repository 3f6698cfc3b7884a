package dev.interlock.tck.fault;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** One request or reply of the Redis protocol, version 2 or 3, with its bytes. */
final class RespFrame {
  private static final int MAX_LINE_BYTES = 64 << 10;

  private final byte[] bytes;
  private final List<String> words;

  private RespFrame(byte[] bytes, List<String> words) {
    this.bytes = bytes;
    this.words = words;
  }

  /** {@return the request of a command with its arguments} */
  static RespFrame request(List<String> words) {
    StringBuilder frame = new StringBuilder("*" + words.size() + "\r\n");
    words.forEach(word -> frame.append("$" + word.getBytes(UTF_8).length + "\r\n" + word + "\r\n"));
    return new RespFrame(frame.toString().getBytes(UTF_8), words);
  }

  void writeTo(OutputStream out) throws IOException {
    out.write(bytes);
  }

  /** {@return the strings at the top level; for a request, the command and its arguments} */
  List<String> words() {
    return words;
  }

  /**
   * {@return the command of a request, or the kind of a push, in upper case, or an empty string}
   */
  String command() {
    return words.isEmpty() ? "" : words.get(0).toUpperCase(Locale.ROOT);
  }

  boolean isArray() {
    return bytes[0] == '*';
  }

  /** {@return whether this is a bulk string} */
  boolean isText() {
    return bytes[0] == '$' && !words.isEmpty();
  }

  boolean isError() {
    return bytes[0] == '-' || bytes[0] == '!';
  }

  /** {@return whether this is a push; only version 3 of the protocol has them} */
  boolean isPush() {
    return bytes[0] == '>';
  }

  /**
   * Reads the next frame. Attributes are part of the reply that they precede.
   *
   * @throws EOFException if the stream has ended
   * @throws IOException if the bytes do not belong to the protocol
   */
  static RespFrame read(InputStream in) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    List<String> words = new ArrayList<>();
    copy(in, bytes, words, 0);
    return new RespFrame(bytes.toByteArray(), words);
  }

  private static void copy(
      InputStream in, ByteArrayOutputStream bytes, List<String> words, int depth)
      throws IOException {
    String line = line(in, bytes);
    char type = line.charAt(0);
    switch (type) {
      case '+', '-', ':', '_', '#', ',', '(' -> addWord(words, depth, line.substring(1));
      case '$', '=', '!' -> {
        int length = length(line);
        if (length >= 0) {
          byte[] text = in.readNBytes(length + 2);
          if (text.length < length + 2) {
            throw new EOFException();
          }
          bytes.writeBytes(text);
          addWord(words, depth, new String(text, 0, length, UTF_8));
        }
      }
      case '*', '~', '>' -> elements(in, bytes, words, depth, length(line));
      case '%' -> elements(in, bytes, words, depth, 2 * length(line));
      case '|' -> {
        elements(in, bytes, words, depth + 1, 2 * length(line));
        copy(in, bytes, words, depth);
      }
      default -> throw new IOException("not a type of the Redis protocol: byte " + (int) type);
    }
  }

  private static void elements(
      InputStream in, ByteArrayOutputStream bytes, List<String> words, int depth, int count)
      throws IOException {
    for (int i = 0; i < count; i++) {
      copy(in, bytes, words, depth + 1);
    }
  }

  private static void addWord(List<String> words, int depth, String text) {
    if (depth <= 1) {
      words.add(text);
    }
  }

  private static int length(String line) throws IOException {
    try {
      return Integer.parseInt(line.substring(1));
    } catch (NumberFormatException e) {
      throw new IOException("not a length in the Redis protocol: " + line, e);
    }
  }

  private static String line(InputStream in, ByteArrayOutputStream bytes) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int last = 0, next = in.read(); ; last = next, next = in.read()) {
      if (next < 0) {
        throw new EOFException();
      }
      bytes.write(next);
      line.write(next);
      if (last == '\r' && next == '\n' && line.size() > 2) {
        return line.toString(UTF_8).substring(0, line.size() - 2);
      }
      if (line.size() > MAX_LINE_BYTES) {
        throw new IOException("a line of the Redis protocol exceeds " + MAX_LINE_BYTES + " bytes");
      }
    }
  }
}
