package agent.datapath.manager.mutation;

import agent.testkit.KernelTest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The tests of the programs catch the bugs of the list. */
@KernelTest
@Tag("mutations")
class MutationsKernelTest {
  @TempDir private Path scratch;

  @Test
  @Timeout(value = 50, unit = TimeUnit.MINUTES)
  void shouldCatchThePlantedBugs() throws IOException, InterruptedException {
    new PlantedBugs(Mutation.DATAPATH_MANAGER, scratch, List.of()).check();
  }
}
