package agent.launcher;

import agent.bindings.bpf.LibBpf;
import agent.datapath.manager.service.ControlGroup;
import agent.datapath.programs.attach.DatapathLeftovers;
import agent.datapath.programs.compile.LibraryLeftovers;
import agent.domain.node.NodeLocks;
import agent.domain.node.NodePrograms;
import agent.launcher.log.AgentLog;
import agent.launcher.log.LogOptions;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.node.NodeLeftovers;
import agent.node.netfilter.MasqueradeGuard;
import agent.server.socket.SocketFile;
import agent.state.StateLeftovers;
import agent.types.IoFailure;
import agent.types.Leftover;
import agent.types.OperationException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * {@code agent cleanup}: removes from the node what agents left there, and nothing of others. It
 * refuses while an agent runs, lists what it would remove, and asks.
 */
final class CleanupCommand {
  static final String NAME = "cleanup";

  /** Where releases up to 0.4.0 kept compiled programs, in the state directory. */
  private static final String FORMER_CACHE = "bpf-cache";

  private static final int OK = 0;
  private static final int FAILED = 1;
  private static final String HELP =
      """
      Usage: agent cleanup [--dry-run] [--force] [OPTION]...

      Removes everything that agents left on this node and in this network namespace: programs,
      pinned maps, routes and neighbours of workloads, gateway addresses, masquerading rules, state
      files and compiled programs. What other programs installed is kept. Workloads lose their
      connectivity and their policy.

            --dry-run   print what would be removed, and change nothing
            --force     do not ask for confirmation

      These options of the agent say where to look: --state-dir, --bpf-root, --lib-dir,
      --socket-path, --config; they are also read from the environment and the file.
      Kernel parameters (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding) are not changed.

      Exit codes: 0 everything is removed, 1 failure or not confirmed, 2 bad option, 3 an agent
      is running.
      """;

  private final PrintStream out;
  private final PrintStream errors;
  private final InputStream answers;

  /** What the command line says. */
  private record Request(boolean isForced, boolean isDry, boolean asksForHelp, Settings settings) {
    static Request of(List<String> arguments, Map<String, String> environment) {
      final List<String> others = new ArrayList<>(arguments);
      final boolean isForced = others.removeAll(List.of("--force"));
      final boolean isDry = others.removeAll(List.of("--dry-run"));
      final OptionValues options = OptionValues.read(others, environment);
      return new Request(isForced, isDry, options.bool("help"), new Settings(options));
    }
  }

  /**
   * Creates the command.
   *
   * @param out takes what is left and what is removed
   * @param errors takes what cannot be removed
   * @param answers has the answer to the question
   */
  CleanupCommand(PrintStream out, PrintStream errors, InputStream answers) {
    this.out = out;
    this.errors = errors;
    this.answers = answers;
  }

  /**
   * Runs the command.
   *
   * @param arguments the command line after the name of the command
   * @param environment the environment
   * @return the exit code 0 or 1
   * @throws OptionException for a bad option
   * @throws agent.types.AlreadyInUseException where an agent runs
   */
  int run(List<String> arguments, Map<String, String> environment) throws InterruptedException {
    final Request request = Request.of(arguments, environment);
    if (request.asksForHelp()) {
      out.print(HELP);
      return OK;
    }
    AgentLog.start(LogOptions.of(false, List.of(), List.of(), Map.of()));
    LibBpf.ensureLoaded();
    final Settings settings = request.settings();
    try (StateLeftovers state = StateLeftovers.open(settings.stateDirectory());
        NodeLocks _ = NodeLocks.takeExisting(settings.bpfRoot())) {
      return clean(find(settings, state), request.isForced(), request.isDry());
    }
  }

  /** Lists what was found, and removes it where that is wanted and confirmed. */
  int clean(List<Leftover> found, boolean isForced, boolean isDry) {
    if (found.isEmpty()) {
      out.println("nothing to remove: no agent has left anything on this node");
      return OK;
    }
    found.forEach(leftover -> out.println(leftover.text()));
    if (isDry) {
      out.printf("%d items would be removed%n", found.size());
      return OK;
    }
    if (!isForced && !isConfirmed(found.size())) {
      errors.println("agent: not confirmed, nothing was removed");
      return FAILED;
    }
    return remove(found);
  }

  private static List<Leftover> find(Settings settings, StateLeftovers state) {
    final List<Leftover> found =
        new ArrayList<>(DatapathLeftovers.find(settings.bpfRoot(), NodeLeftovers.interfaces()));
    found.addAll(ControlGroup.leftovers());
    found.addAll(NodeLeftovers.find(state.node()));
    found.addAll(MasqueradeGuard.leftovers(new NodePrograms()));
    SocketFile.unused(settings.socketPath()).map(Leftover::of).ifPresent(found::add);
    SocketFile.unused(settings.monitorPath()).map(Leftover::of).ifPresent(found::add);
    found.addAll(LibraryLeftovers.find(settings.libDirectory()));
    found.addAll(LibraryLeftovers.objects(settings.stateDirectory().resolve(FORMER_CACHE)));
    found.addAll(state.find());
    return found;
  }

  private boolean isConfirmed(int count) {
    out.printf("Remove these %d items? Workloads lose their connectivity. [y/N] ", count);
    out.flush();
    try {
      final String answer =
          new BufferedReader(new InputStreamReader(answers, StandardCharsets.UTF_8)).readLine();
      return answer != null && answer.strip().matches("(?i)y|yes");
    } catch (IOException unreadable) {
      return false;
    }
  }

  private int remove(List<Leftover> found) {
    int removed = 0;
    int failed = 0;
    for (final Leftover leftover : found) {
      try {
        leftover.removal().remove();
        removed++;
      } catch (DirectoryNotEmptyException others) {
        errors.println("agent: " + leftover.text() + " kept: it contains files of other programs");
      } catch (IOException failure) {
        errors.println("agent: " + leftover.text() + ": " + IoFailure.reason(failure));
        failed++;
      } catch (OperationException failure) {
        errors.println("agent: " + leftover.text() + ": " + failure.getMessage());
        failed++;
      }
    }
    out.printf("%d removed%n", removed);
    return failed == 0 ? OK : FAILED;
  }
}
