package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.spec.PrefilterList;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file of the size that the largest deny list has. */
class LargeFilesTest {
  @TempDir private Path directory;

  /** The default limit of the library is 15 million characters, which one deny list may exceed. */
  @Test
  void shouldKeepAMillionPrefixes() throws Exception {
    final List<Prefix> prefixes = new ArrayList<>();
    for (int i = 0; i < 1_000_000; i++) {
      prefixes.add(Prefix.of(IpAddress.ofIpv6(0x20010db8_00000000L | i, 0), 64));
    }
    final PrefilterList list = new PrefilterList(2, prefixes);
    try (AgentState state = AgentState.open(directory)) {
      state.prefilterStore().store(list);
    }
    try (AgentState state = AgentState.open(directory)) {
      assertEquals(list, state.prefilterStore().load().orElseThrow());
    }
  }
}
