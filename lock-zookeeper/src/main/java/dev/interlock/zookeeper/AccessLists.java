package dev.interlock.zookeeper;

import java.io.IOException;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.proto.CreateRequest;

/** Chooses the access lists of new nodes. */
@FunctionalInterface
interface AccessLists {

  /**
   * Returns the access list for a new node.
   *
   * @param path the node's path, with the framework's namespace
   */
  List<ACL> of(String path);

  /**
   * Gives all rights to the authenticated user alone, or to everybody if there is none. Everybody
   * may read the namespace's node and create locks below it, or its first user would lock all
   * others out.
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
   * Asks the framework's own provider. The only way is to let Curator build an operation of a
   * transaction, which is never sent. As for every transaction, Curator passes the provider the
   * path below the framework's namespace.
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
            "the CuratorFramework gives no access list for " + path, new IOException(e));
      }
    };
  }
}
