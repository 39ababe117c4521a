package agent.datapath.manager.service;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.ShippedMaps;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;

@KernelTest
class ServiceMapKernelTest extends ServiceTableContract {
  private final BpfMap map =
      BpfMap.create(ShippedMaps.of("endpoint").get(NodeMaps.SERVICE_ENDS).withMaxEntries(3), "");

  @Override
  ServiceTable table() {
    return new ServiceMap(map);
  }

  @AfterEach
  void close() {
    map.close();
  }
}
