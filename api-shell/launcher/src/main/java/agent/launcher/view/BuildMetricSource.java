package agent.launcher.view;

import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricFamily.Sample;
import agent.server.metrics.MetricRegistry;
import java.util.List;
import java.util.Map;

/** What this agent is: its build, and the labels that an operator gave it. */
public final class BuildMetricSource implements MetricRegistry.Source {
  private final List<MetricFamily> families;

  /**
   * Creates the source.
   *
   * @param version number of the version
   * @param commit the commit of the build
   * @param labels {@code --agent-labels}
   */
  public BuildMetricSource(String version, String commit, List<String> labels) {
    families =
        List.of(
            gauge(
                "agent_build",
                "Version and commit of the agent",
                List.of(new Sample(Map.of("version", version, "commit", commit), 1))),
            gauge(
                "agent_labels",
                "Labels that identify this agent (--agent-labels)",
                labels.stream().map(label -> new Sample(Map.of("label", label), 1)).toList()));
  }

  private static MetricFamily gauge(String name, String help, List<Sample> samples) {
    return new MetricFamily(name, help, MetricFamily.Type.GAUGE, samples);
  }

  @Override
  public List<MetricFamily> collect() {
    return families;
  }
}
