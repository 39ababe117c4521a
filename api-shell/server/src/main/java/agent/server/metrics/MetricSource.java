package agent.server.metrics;

import java.util.List;

/** Something that has metrics. */
@FunctionalInterface
public interface MetricSource {
  /** Reads them now; for any thread. */
  List<MetricFamily> collect();
}
