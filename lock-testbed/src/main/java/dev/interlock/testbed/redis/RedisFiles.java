package dev.interlock.testbed.redis;

import dev.interlock.testbed.process.Directories;
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
 * The files of one Redis server.
 *
 * @param tls what it proves itself with, if it speaks TLS
 * @param lines its configuration but for address, port and directory
 */
record RedisFiles(Path directory, int port, @Nullable TlsIdentity tls, List<String> lines) {

  Path configuration() {
    return directory.resolve("redis.conf");
  }

  void writeConfiguration() {
    List<String> all = new ArrayList<>();
    all.add("bind 127.0.0.1");
    all.add("dir \"" + directory + "\"");
    if (tls == null) {
      all.add("port " + port);
    } else {
      all.add("port 0");
      all.add("tls-port " + port);
      all.add("tls-cert-file \"" + tls.certificate() + "\"");
      all.add("tls-key-file \"" + tls.key() + "\"");
      all.add("tls-ca-cert-file \"" + tls.certificate() + "\"");
      all.add("tls-auth-clients no");
      all.add("tls-replication yes");
    }
    all.addAll(lines);
    try {
      Files.write(configuration(), all);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + configuration(), e);
    }
  }

  /**
   * Removes the data set: the append-only files of Redis 7 and of earlier ones, and dumps. What
   * makes the server a member stays: a cluster node's table of nodes, and the roles that sentinels
   * write into the configuration.
   */
  void deleteData() {
    try (Stream<Path> files = Files.list(directory)) {
      files.filter(RedisFiles::isData).forEach(Directories::delete);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot empty " + directory, e);
    }
  }

  private static boolean isData(Path path) {
    String file = String.valueOf(path.getFileName());
    return file.equals("appendonlydir") || file.endsWith(".aof") || file.endsWith(".rdb");
  }
}
