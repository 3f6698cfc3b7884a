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
 * The common configuration of the servers of one Redis deployment.
 *
 * @param separable whether the servers connect to each other as the user {@link #PEER}, who can be
 *     refused
 */
record RedisConfig(
    AppendOnly appendOnly,
    @Nullable String password,
    boolean tls,
    boolean separable,
    List<String> extra) {

  /** The user for connections between servers, and its password. */
  static final String PEER = "peer";

  /** {@return the lines for a data server, without port and directory} */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    lines.add("save \"\"");
    lines.add("appendonly " + (appendOnly == AppendOnly.OFF ? "no" : "yes"));
    lines.add("appendfsync " + (appendOnly == AppendOnly.ALWAYS ? "always" : "no"));
    // A replica's full copy does not wait for further replicas.
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
   * @param identity the server's certificate, or null without TLS
   * @param lines the configuration without address, port and directory
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
   * Removes a server's data set: the append-only files of all versions of Redis, and dumps. Keeps
   * the server's identity: a cluster node's table of nodes, and the roles that sentinels write into
   * the configuration.
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

  /** {@return the text as a double-quoted word of redis.conf} */
  static String quote(String text) {
    return '"' + quotable(text).replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  static String quotable(String text) {
    if (text.isEmpty() || text.chars().anyMatch(c -> c < ' ')) {
      throw new IllegalArgumentException(
          "a password must not be empty or contain control characters");
    }
    return text;
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return "appendonly " + appendOnly + (password == null ? "" : ", with a password");
  }
}
