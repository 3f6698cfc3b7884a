package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.cli.AclParser;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;

/** The rights of a user as docs/operating.md documents them. */
final class DocumentedRights {

  static final String PASSWORD = "not told";
  static final String USER_INFO = "app:not%20told@";
  static final String LOGIN = "app:" + PASSWORD;

  private static final String ADMINISTRATOR = "admin:secret";

  private DocumentedRights() {}

  /** The rights on the namespace's node. */
  static List<String> onNamespace() throws Exception {
    return documented("rights: zookeeper");
  }

  /** The rights on the node of one lock. */
  static List<String> onLock(String name) throws Exception {
    return documented("rights: zookeeper lock").stream()
        .map(line -> line.replace("NAME", name))
        .toList();
  }

  private static List<String> documented(String name) throws Exception {
    String digest = DigestAuthenticationProvider.generateDigest(LOGIN);
    return ZkCli.documented(name).stream().map(line -> line.replace("app:DIGEST", digest)).toList();
  }

  /** Authenticates a connection as the administrator and as the user. */
  static void become(ZooKeeper driver) {
    driver.addAuthInfo("digest", ADMINISTRATOR.getBytes(UTF_8));
    driver.addAuthInfo("digest", LOGIN.getBytes(UTF_8));
  }

  /** Restores the rights on the namespace's node, over such a connection. */
  static void giveBack(ZooKeeper driver) throws Exception {
    String[] words = onNamespace().get(1).split(" ");
    driver.setACL(words[1], AclParser.parse(words[2]), -1);
  }

  /** Grants the rights as an administrator. */
  static void grant(String connectString, List<String> lines) throws Exception {
    try (ZkCli cli = new ZkCli(connectString)) {
      cli.execute(List.of("addauth digest " + ADMINISTRATOR));
      cli.execute(lines);
    }
  }
}
