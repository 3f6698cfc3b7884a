package dev.interlock.cli;

import dev.interlock.Capability;
import dev.interlock.LockAdmin;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Takes a lock away from its holder. */
@Command(
    name = "release",
    description = "Take a lock away from its holder.",
    footer = {
      "",
      "Without --force, exclusion is kept: the holder can no longer renew its lease, and no other"
          + " client acquires the lock before that lease has certainly ended. This needs the"
          + " capability REVOKE; 'interlock backends' shows which backends have it.",
      "",
      "With --force, the lock is free at once. The holder goes on until it notices, so two clients"
          + " may work at the same time; only a store that checks fencing tokens is safe from the"
          + " former holder.",
      "",
      "The exit code is 1 if the lock is not held."
    })
final class ReleaseCommand implements Runnable {

  @Mixin private final LockTarget target = new LockTarget();

  @Option(
      names = "--force",
      description = "Free the lock at once, even though its holder may still be at work.")
  private boolean force;

  @Override
  public void run() {
    try (LockClient client = target.open(LockOptions.defaults())) {
      if (!force && !client.backend().has(Capability.REVOKE)) {
        throw new CommandFailure(
            ExitCode.USAGE,
            client.backend().name()
                + " cannot take a lock away and keep exclusion; wait until the holder's TTL has passed,"
                + " or use --force if the holder has certainly ended");
      }
      LockAdmin admin = client.admin();
      LockState before = target.onName(admin::inspect);
      boolean wasHeld = target.onName(force ? admin::forceRelease : admin::revoke);
      PrintWriter out = target.command().getOut();
      String lock = "lock " + target.quotedName();
      if (!wasHeld) {
        throw new CommandFailure(
            ExitCode.NOT_HELD,
            lock + " is not held at " + client.endpoint() + "; is its name right?");
      }
      if (force) {
        out.println(lock + " is free; " + holders(before) + " may still be at work");
      } else {
        String free =
            admin
                .inspect(target.name())
                .remaining()
                .map(remaining -> ", and it becomes free in " + Text.of(remaining))
                .orElse("");
        out.println(lock + " is revoked; " + holders(before) + " can no longer renew it" + free);
      }
    }
  }

  /** Names the holders before the release. Others may have acquired the lock in between. */
  private static String holders(LockState before) {
    if (before.holders().size() > 1) {
      return before.holders().size() + " holders (" + Holders.labels(before) + ")";
    }
    String label =
        before.holder().flatMap(LockState.Holder::label).map(Text::printable).orElse("its holder");
    return before.fencingToken().isPresent()
        ? label + " (token " + before.fencingToken().getAsLong() + ")"
        : label;
  }
}
