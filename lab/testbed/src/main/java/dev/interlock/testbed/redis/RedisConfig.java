package dev.interlock.testbed.redis;

import dev.interlock.testbed.process.Directories;
import dev.interlock.testbed.redis.RedisBuilder.AppendOnly;
import dev.interlock.testbed.server.TlsIdentity;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
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

  /**
   * Writes a server's configuration file.
   *
   * @param identity what the server proves itself with, if it speaks TLS
   * @param lines the configuration but for address, port and directory
   * @return the file
   */
  static Path write(Path directory, int port, @Nullable TlsIdentity identity, List<String> lines) {
    List<String> all = new ArrayList<>();
    all.add("bind 127.0.0.1");
    all.add("dir \"" + directory + "\"");
    if (identity == null) {
      all.add("port " + port);
    } else {
      all.add("port 0");
      all.add("tls-port " + port);
      all.add("tls-cert-file \"" + identity.certificate() + "\"");
      all.add("tls-key-file \"" + identity.key() + "\"");
      all.add("tls-ca-cert-file \"" + identity.certificate() + "\"");
      all.add("tls-auth-clients no");
      all.add("tls-replication yes");
    }
    all.addAll(lines);
    return Directories.write(directory.resolve("redis.conf"), all);
  }

  /**
   * Removes a server's data set: the append-only files of Redis 7 and of earlier ones, and dumps.
   * What makes the server a member stays: a cluster node's table of nodes, and the roles that
   * sentinels write into the configuration.
   */
  static void deleteData(Path directory) {
    try (Stream<Path> files = Files.list(directory)) {
      files
          .filter(path -> path.toString().matches(".*(/appendonlydir|\\.aof|\\.rdb)"))
          .forEach(Directories::delete);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot empty " + directory, e);
    }
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
