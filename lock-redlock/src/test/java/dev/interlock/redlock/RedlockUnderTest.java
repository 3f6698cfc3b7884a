package dev.interlock.redlock;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.tck.Permissions;
import dev.interlock.testbed.kit.RedisStore;
import dev.interlock.testbed.redis.RedlockNodes;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Disposable nodes for the kit. */
final class RedlockUnderTest extends RedisStore {

  private static final Keys KEYS =
      new Keys(name -> LockKeys.of("interlock", name).toString(), key -> key.endsWith(":fence"));

  RedlockUnderTest(RedlockNodes redlock, String query) {
    this(redlock, query, "");
  }

  /** Starts nodes for a user who must not be refused anything. */
  RedlockUnderTest(RedlockNodes redlock, String query, String userInfo) {
    super(redlock, redlock.members(), redlock.uri() + query, userInfo, KEYS);
  }

  /** Leaves out what a node knows of itself. */
  @Override
  public List<Entry> entries() throws IOException {
    return super.entries().stream()
        .filter(entry -> !entry.description().endsWith(" key interlock:redlock"))
        .toList();
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    return Optional.of(userPermissions());
  }
}
