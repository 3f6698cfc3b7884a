package dev.interlock.zookeeper;

import java.io.IOException;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.proto.CreateRequest;

/** Who may do what with a node that we make. */
@FunctionalInterface
interface AccessLists {

  /**
   * The access list for a new node.
   *
   * @param path the node's path, with the framework's namespace
   */
  List<ACL> of(String path);

  /**
   * Everybody may, if we are nobody in particular; else only we. The namespace's node belongs to
   * nobody, or whoever used it first would keep everybody else out.
   */
  static AccessLists forUser(boolean authenticated, String namespacePath) {
    List<ACL> shared =
        List.of(
            new ACL(Perms.ALL, Ids.AUTH_IDS),
            new ACL(Perms.READ | Perms.CREATE, Ids.ANYONE_ID_UNSAFE));
    return path -> {
      if (!authenticated) {
        return Ids.OPEN_ACL_UNSAFE;
      }
      return path.equals(namespacePath) ? shared : Ids.CREATOR_ALL_ACL;
    };
  }

  /**
   * What the framework's own provider says. There is no other way to ask it than to let Curator
   * build an operation of a transaction, which is not sent. So it is asked as by a transaction: for
   * the path below the framework's namespace.
   */
  static AccessLists of(CuratorFramework curator) {
    String namespace = curator.getNamespace();
    int prefix = namespace == null || namespace.isEmpty() ? 0 : namespace.length() + 1;
    return path -> {
      try {
        CreateRequest request =
            (CreateRequest)
                curator
                    .transactionOp()
                    .create()
                    .withMode(CreateMode.PERSISTENT)
                    .forPath(path.length() > prefix ? path.substring(prefix) : "/", new byte[0])
                    .get()
                    .toRequestRecord();
        return request.getAcl();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(
            "the CuratorFramework does not tell the access list of " + path, new IOException(e));
      }
    };
  }
}
