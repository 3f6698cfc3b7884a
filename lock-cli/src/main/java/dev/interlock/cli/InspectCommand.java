package dev.interlock.cli;

import dev.interlock.LockClient;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Shows who holds a lock. */
@Command(
    name = "inspect",
    description = "Show who holds a lock, since when, with which token, and for how long.",
    footer = {
      "",
      "The answer may be out of date when it arrives. The token is that of the store's grant; when"
          + " the holder's process hands the lock off to another of its threads, that thread's token"
          + " is up to 63 higher. If the store keeps a queue, the command also shows the waiters,"
          + " one for each client."
          + " docs/command-line.md describes the fields of the JSON form.",
      "",
      "The exit code is 0 whether the lock is held or free."
    })
final class InspectCommand implements Runnable {

  @Mixin private final LockTarget target = new LockTarget();

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Override
  public void run() {
    LockState state;
    try (LockClient client = target.open(LockOptions.defaults())) {
      state = target.onName(client.admin()::inspect);
    }
    PrintWriter out = target.command().getOut();
    if (json) {
      Json.print(out, LockDocument.of(state));
    } else {
      print(state, out);
    }
  }

  private static void print(LockState state, PrintWriter out) {
    line(out, "lock", state.name());
    if (!state.isHeld()) {
      line(out, "held by", "nobody");
      return;
    }
    boolean exclusive = state.kind().orElse(LockKind.EXCLUSIVE) == LockKind.EXCLUSIVE;
    if (exclusive) {
      printHolder(state, out);
    } else {
      line(out, "used as", Holders.use(state));
    }
    String label = "waiters";
    for (String waiter : state.waiters()) {
      line(out, label, waiter);
      label = "";
    }
    if (!exclusive) {
      Table table = new Table(Holders.headings());
      state.holders().forEach(holder -> table.add(Holders.row(state, holder)));
      out.println();
      table.print(out);
    }
  }

  private static void printHolder(LockState state, PrintWriter out) {
    line(
        out,
        "held by",
        state
            .holder()
            .flatMap(LockState.Holder::label)
            .orElse("unknown: the store does not keep the label"));
    state.heldSince().ifPresent(since -> line(out, "since", since.toString()));
    state.fencingToken().ifPresent(token -> line(out, "token", Long.toString(token)));
    state.remaining().ifPresent(remaining -> line(out, "remaining", Text.of(remaining)));
  }

  private static void line(PrintWriter out, String label, String text) {
    out.printf("%-10s %s%n", label, Text.printable(text));
  }
}
