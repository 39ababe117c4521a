package agent.datapath.manager.prefilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapDefinition;
import agent.testkit.KernelTest;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;

/** A list in the kernel that cannot be read is not an empty one. */
@KernelTest
class PrefilterReadKernelTest {
  private static final int BPF_F_WRONLY = 1 << 4;

  @Test
  void shouldFailWhereTheListCannotBeRead() {
    try (BpfMap ipv4 = unreadable("prefilter4", 8);
        BpfMap ipv6 = unreadable("prefilter6", 20)) {
      final BpfMapException failure4 =
          assertThrows(
              BpfMapException.class, () -> PreviousTries.readIpv4(ipv4, new ArrayList<>()));
      assertEquals("map prefilter4: walk (all): EPERM", failure4.getMessage());
      final BpfMapException failure6 =
          assertThrows(
              BpfMapException.class, () -> PreviousTries.readIpv6(ipv6, new ArrayList<>()));
      assertEquals("map prefilter6: walk (all): EPERM", failure6.getMessage());
    }
    final MapSpec list = MapSpec.of(MapType.ARRAY, "prefilter_list", 4, 32, 16, BPF_F_WRONLY);
    try (BpfMap map = BpfMap.create(MapDefinition.of(list), "")) {
      final BpfMapException failure =
          assertThrows(BpfMapException.class, () -> PrefilterMaps.readList(map));
      assertEquals("map prefilter_list: walk (all): EPERM", failure.getMessage());
    }
  }

  private static BpfMap unreadable(String name, int keySize) {
    return BpfMap.create(
        MapDefinition.of(
            MapSpec.of(MapType.LPM_TRIE, name, keySize, 4, 16, MapFlag.NO_PREALLOC | BPF_F_WRONLY)),
        "");
  }
}
