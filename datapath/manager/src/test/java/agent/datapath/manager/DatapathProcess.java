package agent.datapath.manager;

import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.TcMode;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** A datapath in a separate process, which a test can kill. */
final class DatapathProcess implements AutoCloseable {
  private static final String READY = "ready";

  private final Process process;

  private DatapathProcess(Process process) {
    this.process = process;
  }

  /**
   * Starts the process in the namespace of the node, and attaches the endpoints without
   * enforcement.
   */
  static DatapathProcess start(ManagerTestNode node, TcMode mode, List<EndpointSpec> endpoints)
      throws IOException {
    final List<String> line = new ArrayList<>();
    line.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
            "-Dchronicle.analytics.disable=true",
            "-cp",
            System.getProperty("java.class.path"),
            DatapathProcess.class.getName(),
            node.bpfRoot().toString(),
            node.state().toString(),
            mode.name()));
    endpoints.forEach(endpoint -> line.add(write(endpoint)));
    final Process process =
        new ProcessBuilder(node.namespace().inside(line.toArray(String[]::new)))
            .redirectErrorStream(true)
            .start();
    final BufferedReader output =
        new BufferedReader(new InputStreamReader(process.getInputStream()));
    final StringBuilder log = new StringBuilder();
    String next = output.readLine();
    while (next != null && !next.equals(READY)) {
      log.append(next).append('\n');
      next = output.readLine();
    }
    if (next == null) {
      throw new IllegalStateException("the datapath process ended: " + log);
    }
    return new DatapathProcess(process);
  }

  /** Sends SIGKILL and waits for the end of the process. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Sends SIGTERM, which the process does not handle, and waits for its end. */
  void terminate() throws InterruptedException {
    process.destroy();
    process.waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  public static void main(String[] args) throws InterruptedException {
    final DatapathManager manager =
        DatapathManager.launch(
            ManagerTestNode.context(Path.of(args[0]), Path.of(args[1]))
                .tcMode(TcMode.valueOf(args[2])),
            new FlowRing(0, Set.of(), System::nanoTime));
    final Set<Integer> attached = new TreeSet<>();
    for (int i = 3; i < args.length; i++) {
      final EndpointSpec endpoint = read(args[i]);
      ManagerTestNode.attach(manager, endpoint, ManagerTestNode.allowAll());
      attached.add(endpoint.id());
    }
    System.out.println(READY);
    Thread.sleep(120_000);
    System.out.println("the process of endpoints " + attached + " was not killed");
  }

  private static String write(EndpointSpec endpoint) {
    return String.join(
        ",",
        Integer.toString(endpoint.id()),
        Integer.toString(endpoint.ifindex()),
        endpoint.interfaceName(),
        endpoint.ipv4().toString(),
        endpoint.ipv6().toString(),
        endpoint.mac().toString(),
        endpoint.hostMac().toString(),
        Integer.toString(endpoint.identity()));
  }

  private static EndpointSpec read(String text) {
    final String[] parts = text.split(",");
    return new EndpointSpec(
        Integer.parseInt(parts[0]),
        Integer.parseInt(parts[1]),
        parts[2],
        IpAddress.parse(parts[3]),
        IpAddress.parse(parts[4]),
        MacAddress.parse(parts[5]),
        MacAddress.parse(parts[6]),
        Integer.parseInt(parts[7]),
        ManagerTestNode.OPTIONS,
        0);
  }
}
