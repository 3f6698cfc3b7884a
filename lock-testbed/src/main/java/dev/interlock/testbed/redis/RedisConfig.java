package dev.interlock.testbed.redis;

import dev.interlock.testbed.redis.RedisBuilder.AppendOnly;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The configuration that the servers of one Redis deployment have in common.
 *
 * @param separable whether the servers come to each other as a user of their own, {@link #PEER},
 *     who can be refused
 */
record RedisConfig(
    AppendOnly appendOnly,
    @Nullable String password,
    boolean tls,
    boolean separable,
    List<String> extra) {

  /** The user, and its password. */
  static final String PEER = "peer";

  /** The lines for a data server, its port and directory left out. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    lines.add("save \"\"");
    lines.add("appendonly " + (appendOnly == AppendOnly.OFF ? "no" : "yes"));
    lines.add("appendfsync " + (appendOnly == AppendOnly.ALWAYS ? "always" : "no"));
    // A replica's full copy need not wait for more replicas to ask for one.
    lines.add("repl-diskless-sync-delay 0");
    if (password != null) {
      lines.add("requirepass " + quote(password));
      lines.add("masterauth " + (separable ? PEER : quote(password)));
    }
    if (separable) {
      lines.add("user " + PEER + " on >" + PEER + " ~* &* +@all");
      lines.add("masteruser " + PEER);
    }
    lines.addAll(extra);
    return lines;
  }

  /** As a double-quoted word of redis.conf. */
  static String quote(String text) {
    return '"' + quotable(text).replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  static String quotable(String text) {
    if (text.isEmpty() || text.chars().anyMatch(c -> c < ' ')) {
      throw new IllegalArgumentException("a password must not be empty or hold control characters");
    }
    return text;
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return "appendonly " + appendOnly + (password == null ? "" : ", with a password");
  }
}
