package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The flags that the JVM of the proxies has beside the agent's. */
class ProcessCommandTest {
  @TempDir private Path folder;

  @Test
  void shouldHaveTheFlagsOfTheAgentAloneWhereNoFilesAreNamed() {
    assertEquals(List.of(), ProcessCommand.ownFlags(null));
  }

  @Test
  void shouldUseAnAotCacheOfItsOwnWhereThereIsOne() throws Exception {
    final String files = folder.resolve("proxies").toString();
    assertEquals(List.of("@" + files + ".jvm"), ProcessCommand.ownFlags(files));
    Files.createFile(Path.of(files + ".aot"));
    assertEquals(
        List.of("@" + files + ".jvm", "-XX:AOTCache=" + files + ".aot"),
        ProcessCommand.ownFlags(files));
  }
}
