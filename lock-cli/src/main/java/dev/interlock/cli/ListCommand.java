package dev.interlock.cli;

import dev.interlock.Capability;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Lists the locks that are held. */
@Command(
    name = "list",
    description = "List the held locks with their mode, token, remaining time and holder.",
    footer = {
      "",
      "The table has one line for each holder of a lock.",
      "",
      "The list is not a snapshot: a lock acquired or released during the listing may or may not"
          + " appear. The command reads the store's locks page by page, which takes a while if there"
          + " are many. It needs the capability LIST; 'interlock backends' shows which backends have"
          + " it. docs/command-line.md describes the fields of the JSON form.",
      "",
      "The exit code is 0 even if no lock is held."
    })
final class ListCommand implements Runnable {

  private record Document(List<LockDocument> locks) {}

  @Spec private CommandSpec spec;

  @Parameters(
      index = "0",
      paramLabel = "URI",
      converter = UriArgument.class,
      description = UriArgument.DESCRIPTION)
  private String uri;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "PREFIX",
      description = "Show only locks whose names begin with PREFIX. Default: all.")
  private String prefix = "";

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Override
  public void run() {
    List<LockState> locks = new ArrayList<>();
    try (LockClient client = LockClient.open(uri, LockOptions.defaults())) {
      if (!client.backend().has(Capability.LIST)) {
        throw new CommandFailure(
            ExitCode.USAGE,
            client.backend().name()
                + " cannot list locks; use 'interlock inspect' with the name of a lock");
      }
      client.admin().list(prefix).forEach(locks::add);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "PREFIX: " + e.getMessage(), e);
    } catch (LockConfigurationException e) {
      // The store may have refused to show only some of the locks.
      if (!locks.isEmpty()) {
        print(locks);
      }
      throw e;
    }
    print(locks);
  }

  private void print(List<LockState> locks) {
    locks.sort(Comparator.comparing(LockState::name));
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      Json.print(out, new Document(locks.stream().map(LockDocument::of).toList()));
    } else if (!locks.isEmpty()) {
      print(locks, out);
    }
  }

  private static void print(List<LockState> locks, PrintWriter out) {
    Table table = new Table(row("LOCK", Holders.headings()));
    for (LockState lock : locks) {
      for (LockState.Holder holder : lock.holders()) {
        table.add(row(Text.printable(lock.name()), Holders.row(lock, holder)));
      }
    }
    table.print(out);
  }

  private static List<String> row(String name, List<String> rest) {
    List<String> row = new ArrayList<>(List.of(name));
    row.addAll(rest);
    return row;
  }
}
