package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;

/** A node of one test: its namespace, BPF file system, state directory, agent and workloads. */
final class TestNode implements AutoCloseable {
  private static final String[] RANGES = {
    "--ipv4-range", "10.210.0.0/24",
    "--ipv6-range", "fd00:210::/96",
    "--bpf-ct-global-tcp-max", "16384",
    "--bpf-ct-global-any-max", "16384",
    "--preallocate-bpf-maps=false"
  };

  private final NetworkNamespace namespace = NetworkNamespace.create("node");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final Path state;
  private final List<AutoCloseable> parts = new ArrayList<>();

  TestNode() throws IOException {
    state = Files.createTempDirectory("agent-state-");
  }

  NetworkNamespace namespace() {
    return namespace;
  }

  Path state() {
    return state;
  }

  Path bpfRoot() {
    return bpf.path();
  }

  /** Starts an agent on this node's state and waits until it is ready. */
  AgentProcess agent(String... options) throws Exception {
    return launch(options).ready();
  }

  /** Starts an agent on this node's state. */
  AgentProcess launch(String... options) throws Exception {
    final List<String> all = new ArrayList<>(List.of(RANGES));
    all.addAll(List.of(options));
    final AgentProcess agent =
        AgentProcess.start(namespace, state, bpf.path(), all.toArray(String[]::new));
    parts.add(agent);
    return agent;
  }

  /** Starts an agent on this node's state whose JVM has a property, and waits until it is ready. */
  AgentProcess agentWith(String property) throws Exception {
    final List<String> flags = new ArrayList<>(AgentImage.flags());
    flags.add("-D" + property);
    final AgentProcess agent = AgentProcess.start(flags, this, RANGES);
    parts.add(agent);
    return agent.ready();
  }

  /** Starts an agent on this node's state with the umask 0. */
  AgentProcess launchWithoutMask(String... options) throws Exception {
    return launchAfter("umask 0", options);
  }

  /** Starts an agent on this node's state that may have so many descriptors open. */
  AgentProcess launchWithDescriptors(int limit, String... options) throws Exception {
    return launchAfter("ulimit -n " + limit, options);
  }

  /** Starts an agent on this node's state that finds programs in one directory alone. */
  AgentProcess launchWithPrograms(Path directory, String... options) throws Exception {
    return launchAfter("PATH=" + directory + "; export PATH", options);
  }

  private AgentProcess launchAfter(String command, String... options) throws Exception {
    final List<String> all = new ArrayList<>(List.of(RANGES));
    all.addAll(List.of(options));
    final AgentProcess agent =
        AgentProcess.startAfter(command, namespace, state, bpf.path(), all.toArray(String[]::new));
    parts.add(agent);
    return agent;
  }

  /** Starts an agent on this node's state, for which the file is {@code /etc/resolv.conf}. */
  AgentProcess launchWithResolverFile(Path file, String... options) throws Exception {
    return launchWith(Map.of(OwnMounts.RESOLVER_FILE, file), options);
  }

  /** Starts an agent on this node's state that finds files of the test in the place of others. */
  AgentProcess launchWith(Map<Path, Path> files, String... options) throws Exception {
    final List<String> all = new ArrayList<>(List.of(RANGES));
    all.addAll(List.of(options));
    final AgentProcess agent =
        AgentProcess.startWithFiles(
            files, namespace, state, bpf.path(), all.toArray(String[]::new));
    parts.add(agent);
    return agent;
  }

  /** Starts an agent on this node's state, for which the file is an empty one. */
  AgentProcess launchWithout(Path hidden) throws Exception {
    final AgentProcess agent =
        AgentProcess.startWithout(hidden, namespace, state, bpf.path(), RANGES);
    parts.add(agent);
    return agent;
  }

  /** Plumbs a workload, has an address allocated for it, and makes it an endpoint. */
  TestWorkload workload(AgentProcess agent, String name, String... labels) throws IOException {
    final TestWorkload workload = plumbed(agent, name, labels);
    return workload.withId(
        agent.expect(201, "PUT", "/endpoint/0", workload.request()).json().get("id").asInt());
  }

  /** Plumbs a workload and has an address allocated for it; it is no endpoint yet. */
  TestWorkload plumbed(AgentProcess agent, String name, String... labels) throws IOException {
    final NetworkNamespace inside = NetworkNamespace.create(name);
    parts.add(inside);
    final VethPair veth = VethPair.create(namespace, "wl-" + name, inside, "eth0");
    final JsonNode lease = agent.expect(201, "POST", "/ipam?owner=" + name, null).json();
    return TestWorkload.plumb(inside, veth, lease.get("ipv4"), lease.get("ipv6"), labels);
  }

  /** Writes a file of {@code --tofqdns-pre-cache} with one name. */
  Path preCache(String name, String address) throws IOException {
    return Files.writeString(
        state.resolve("pre-cache.json"),
        "[{\"fqdn\": \"%s\", \"ips\": [\"%s\"], \"ttl\": 60}]".formatted(name, address));
  }

  void keep(AutoCloseable part) {
    parts.add(part);
  }

  @Override
  public void close() throws IOException {
    for (final AutoCloseable part : parts.reversed()) {
      try {
        part.close();
      } catch (Exception e) {
        throw new IOException("closing " + part, e);
      }
    }
    namespace.close();
    bpf.close();
    try (Stream<Path> files = Files.walk(state)) {
      files.sorted(Comparator.reverseOrder()).forEach(TestNode::delete);
    }
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
