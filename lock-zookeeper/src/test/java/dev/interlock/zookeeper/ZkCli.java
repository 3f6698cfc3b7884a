package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZKUtil;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.cli.AclParser;
import org.apache.zookeeper.data.ACL;

/** Executes the documentation's input for {@code zkCli.sh} as that does. */
final class ZkCli implements AutoCloseable {

  private static final Path PAGE = Path.of("..", "docs", "operating.md");

  private final CuratorFramework connection;

  ZkCli(String connectString) {
    this.connection = Backends.curator(connectString);
  }

  /** The lines of the block after the comment {@code <!-- NAME -->}. */
  static List<String> documented(String name) throws IOException {
    List<String> lines = Files.readAllLines(PAGE);
    int comment = lines.indexOf("<!-- " + name + " -->");
    if (comment < 0) {
      throw new IllegalArgumentException(PAGE + " has no " + name);
    }
    List<String> rest = lines.subList(comment + 2, lines.size());
    return List.copyOf(rest.subList(0, rest.indexOf("```")));
  }

  void execute(List<String> lines) throws Exception {
    for (String line : lines) {
      execute(line.split(" "));
    }
  }

  ZooKeeper driver() throws Exception {
    return connection.getZookeeperClient().getZooKeeper();
  }

  private void execute(String... words) throws Exception {
    ZooKeeper driver = driver();
    switch (words[0]) {
      case "addauth" -> driver.addAuthInfo(words[1], words[2].getBytes(UTF_8));
      case "create" ->
          driver.create(words[1], new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
      case "setAcl" -> {
        if (words[1].equals("-R")) {
          List<String> paths = new ArrayList<>();
          ZKUtil.visitSubTreeDFS(
              driver, words[2], false, (code, path, context, x) -> paths.add(path));
          for (String path : paths) {
            setAcl(driver, path, AclParser.parse(words[3]));
          }
        } else {
          driver.setACL(words[1], AclParser.parse(words[2]), -1);
        }
      }
      default -> throw new IllegalArgumentException(String.join(" ", words));
    }
  }

  private static void setAcl(ZooKeeper driver, String path, List<ACL> list)
      throws InterruptedException {
    try {
      driver.setACL(path, list, -1);
    } catch (KeeperException e) {
      // zkCli prints the error and continues.
    }
  }

  @Override
  public void close() {
    connection.close();
  }
}
