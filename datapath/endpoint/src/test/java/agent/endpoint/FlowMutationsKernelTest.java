package agent.endpoint;

import agent.datapath.manager.mutation.PlantedBugs;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The random conversations catch the bugs that are for them. */
@KernelTest
@Tag("mutations")
class FlowMutationsKernelTest {
  /** Somewhat fewer rule sets than a run of the test has: each bug is found with them. */
  private static final List<String> FEWER =
      List.of("-Drandom.rules=900", "-Dmutations.timeout=200 s");

  @TempDir private Path scratch;

  @Test
  @Timeout(value = 30, unit = TimeUnit.MINUTES)
  void shouldCatchThePlantedBugs() throws IOException, InterruptedException {
    new PlantedBugs("endpoint", scratch, FEWER).check();
  }
}
