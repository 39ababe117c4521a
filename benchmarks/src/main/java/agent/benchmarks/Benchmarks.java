package agent.benchmarks;

import agent.bindings.bpf.KernelFeatures;
import agent.bindings.bpf.LibBpf;
import java.nio.file.Path;
import java.util.List;

/** Runs the benchmarks named on the command line, or all of them, and prints their tables. */
public final class Benchmarks {
  private static final List<String> ALL =
      List.of("programs", "balancer", "traffic", "services", "maps", "sweep", "memory");
  private static final String JMH = "jmh";
  private static final String DAEMON = "daemon=";
  private static final String SCALE = "scale=";
  private static final String PROXY = "proxy=";
  private static final String NAMES = "names=";

  private Benchmarks() {}

  /**
   * Runs the benchmarks of the arguments {@code programs}, {@code balancer}, {@code traffic},
   * {@code services}, {@code maps}, {@code sweep}, {@code memory}, and for an installation under a
   * prefix {@code daemon=PREFIX}, {@code scale=PREFIX}, {@code proxy=PREFIX} and {@code
   * names=PREFIX}; without arguments all that need none. The arguments behind {@code jmh} are those
   * of JMH.
   */
  public static void main(String[] arguments) throws Exception {
    LibBpf.ensureLoaded();
    System.out.printf(
        "# Measured on Linux %s, %d CPUs, Java %s%n%n",
        KernelFeatures.probe().release(),
        Runtime.getRuntime().availableProcessors(),
        Runtime.version());
    if (arguments.length > 0 && arguments[0].equals(JMH)) {
      System.out.println(JmhRun.run(List.of(arguments).subList(1, arguments.length)));
      return;
    }
    for (final String name : arguments.length == 0 ? ALL : List.of(arguments)) {
      System.out.println(report(name));
    }
  }

  private static Report report(String name) throws Exception {
    if (name.startsWith(DAEMON)) {
      return DaemonReport.run(Path.of(name.substring(DAEMON.length())));
    }
    if (name.startsWith(SCALE)) {
      return ScaleReport.run(Path.of(name.substring(SCALE.length())));
    }
    if (name.startsWith(PROXY)) {
      return ProxyReport.run(Path.of(name.substring(PROXY.length())));
    }
    if (name.startsWith(NAMES)) {
      return NamesReport.run(Path.of(name.substring(NAMES.length())));
    }
    return switch (name) {
      case "programs" -> ProgramReport.run();
      case "balancer" -> BalancerReport.run();
      case "traffic" -> TrafficReport.run();
      case "services" -> ServiceReport.run();
      case "maps" -> MapReport.run();
      case "sweep" -> SweepReport.run();
      case "memory" -> MemoryReport.run();
      default -> throw new IllegalArgumentException("no benchmark " + name + ": " + ALL);
    };
  }
}
