package dev.interlock.tck.process;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Encodes texts as one line, for messages between a test and its workers. */
final class Message {
  private Message() {}

  static String encode(List<String> parts) {
    return parts.stream()
        .map(part -> URLEncoder.encode(part, StandardCharsets.UTF_8))
        .collect(Collectors.joining("&"));
  }

  static List<String> decode(String line) {
    return Arrays.stream(line.split("&", -1))
        .map(part -> URLDecoder.decode(part, StandardCharsets.UTF_8))
        .toList();
  }
}
