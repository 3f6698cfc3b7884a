package dev.interlock.testbed.redis;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Replies of Redis that list names and values in turn. */
final class RedisReplies {
  private RedisReplies() {}

  static Map<String, String> map(@Nullable Object reply) throws IOException {
    List<?> words = list(reply);
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i + 1 < words.size(); i += 2) {
      map.put(String.valueOf(words.get(i)), String.valueOf(words.get(i + 1)));
    }
    return map;
  }

  static List<Map<String, String>> maps(@Nullable Object reply) throws IOException {
    List<Map<String, String>> maps = new ArrayList<>();
    for (Object element : list(reply)) {
      maps.add(map(element));
    }
    return maps;
  }

  private static List<?> list(@Nullable Object reply) throws IOException {
    if (reply instanceof List<?> list) {
      return list;
    }
    throw new IOException("expected a list, and the reply is " + reply);
  }
}
