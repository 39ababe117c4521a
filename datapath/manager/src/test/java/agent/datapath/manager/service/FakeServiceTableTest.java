package agent.datapath.manager.service;

import java.util.ArrayList;

class FakeServiceTableTest extends ServiceTableContract {
  @Override
  ServiceTable table() {
    return new FakeServiceTable("fake", 3, new ArrayList<>());
  }
}
