package agent.launcher.view;

import agent.conductor.DutyCycle;
import agent.conductor.ModuleHealth;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.DatapathStatus;
import agent.domain.node.ProcessPrivileges;
import agent.launcher.options.SecretNames;
import agent.maps.mirror.MapVisitor.MapSummary;
import agent.server.view.DebugView;
import agent.types.OperationException;
import java.io.IOException;
import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The process of the agent and its subsystems, for {@code GET /debuginfo}. */
public final class ProcessDebugView implements DebugView {
  private static final Path MEMORY_MAP = Path.of("/proc/self/smaps");

  private final String version;
  private final DatapathManager datapath;
  private final Supplier<Optional<String>> proxies;
  private final Map<String, String> environment;

  /**
   * Creates the view.
   *
   * @param version the version of the agent
   * @param datapath the datapath
   * @param proxies returns the process of the proxies, if there is one
   * @param environment the variables of the process
   */
  public ProcessDebugView(
      String version,
      DatapathManager datapath,
      Supplier<Optional<String>> proxies,
      Map<String, String> environment) {
    this.version = version;
    this.datapath = datapath;
    this.proxies = proxies;
    this.environment = environment;
  }

  @Override
  public String agentVersion() {
    return version;
  }

  @Override
  public String kernelRelease() {
    return datapath.status().kernelRelease();
  }

  @Override
  public List<String> environment() {
    return new TreeMap<>(environment)
        .entrySet().stream()
            .map(
                variable ->
                    variable.getKey()
                        + "="
                        + SecretNames.masked(variable.getKey(), variable.getValue()))
            .toList();
  }

  @Override
  public Reader memoryMap() {
    try {
      return Files.newBufferedReader(MEMORY_MAP);
    } catch (IOException e) {
      throw new OperationException(MEMORY_MAP + ": " + e.getMessage(), e);
    }
  }

  @Override
  public Map<String, String> subsystems() {
    final Map<String, String> subsystems = new LinkedHashMap<>();
    final DatapathStatus status = datapath.status();
    subsystems.put(
        "jvm",
        "%s %s, %s"
            .formatted(
                System.getProperty("java.vm.name"),
                System.getProperty("java.vm.version"),
                text(
                    Runtime.getRuntime().availableProcessors(),
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage())));
    subsystems.put("privileges", ProcessPrivileges.text());
    subsystems.put("proxies", proxies.get().orElse("no process: no policy requires a proxy"));
    subsystems.put("datapath", text(status));
    subsystems.put("conntrack", status.conntrack().toString());
    subsystems.put(
        "health",
        datapath.health().read().stream()
            .map(ProcessDebugView::text)
            .collect(Collectors.joining("\n")));
    subsystems.put(
        "maps",
        datapath.mirrors().describe().stream()
            .map(ProcessDebugView::text)
            .collect(Collectors.joining("\n")));
    subsystems.put(
        "threads",
        datapath.threads().dutyCycles().stream()
            .map(ProcessDebugView::text)
            .collect(Collectors.joining("\n")));
    return subsystems;
  }

  static String text(int processors, MemoryUsage heap) {
    return "%d processors, heap %d of %d bytes in use, %d at most"
        .formatted(processors, heap.getUsed(), heap.getCommitted(), heap.getMax());
  }

  static String text(DatapathStatus status) {
    return "libbpf %s, attached by %s, %d endpoints"
        .formatted(status.libbpfVersion(), status.tcMode(), status.endpoints());
  }

  static String text(MapSummary map) {
    return map.name() + ": " + map.entries() + " of " + map.maxEntries();
  }

  static String text(DutyCycle cycle) {
    return "%s: %d ms of work, longest duty cycle %d us"
        .formatted(
            cycle.name(),
            TimeUnit.NANOSECONDS.toMillis(cycle.totalNs()),
            TimeUnit.NANOSECONDS.toMicros(cycle.longestNs()));
  }

  static String text(ModuleHealth module) {
    return module.moduleId() + ": " + module.level() + ": " + module.message();
  }
}
