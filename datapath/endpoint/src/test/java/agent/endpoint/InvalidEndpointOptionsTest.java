package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointState;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Options of all endpoints are also those of one that is invalid: its record has them, so that a
 * run that can build it again does so with them.
 */
class InvalidEndpointOptionsTest {
  private static final String OPTION = "TraceNotification";
  private static final String CHANGED = "Disabled";
  private static final String FORMER = "Enabled";

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoints() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
  }

  /** Its address is in no pool, until the next start finds another one in the record. */
  private void restartWithAddress(String address) {
    agent.store.save(
        agent
            .store
            .load()
            .get(1)
            .withAddressing(
                new EndpointAddressing(IpAddress.parse(address), null, null, null, null, null)));
    agent.restart();
  }

  private void restartAsInvalid() {
    restartWithAddress("172.20.0.1");
    assertEquals(EndpointState.INVALID, agent.get("2").state());
  }

  private void setOnAll(String value) {
    agent.now(agent.conductor.configuration().change(Map.of(OPTION, value), null));
  }

  private String stored() {
    return agent.store.load().get(1).configuration().options().get(OPTION);
  }

  @Test
  void shouldHaveTheOptionsOfAllEndpointsOnceItIsBuiltAgain() {
    restartAsInvalid();
    agent.datapath.calls.clear();
    setOnAll(CHANGED);
    assertEquals(CHANGED, agent.get("1").realizedOptions().get(OPTION));
    assertEquals(CHANGED, agent.get("2").options().get(OPTION));
    assertEquals(Map.of(), agent.get("2").realizedOptions());
    assertEquals(EndpointState.INVALID, agent.get("2").state());
    assertEquals(List.of("attach 1"), agent.datapath.calls, "it stays closed");
    assertEquals(CHANGED, stored());
    restartWithAddress("10.5.0.10");
    assertEquals(EndpointState.READY, agent.get("2").state());
    assertEquals(CHANGED, agent.get("2").realizedOptions().get(OPTION));
  }

  @Test
  void shouldHaveItsFormerOptionsWhereTheChangeIsUndone() {
    restartAsInvalid();
    final AtomicInteger failures = new AtomicInteger();
    agent.create("3", Requests.on("lxc3").labels("app=late"));
    agent.datapath.fails = call -> call.equals("attach 3") && failures.getAndIncrement() == 0;
    assertThrows(OperationException.class, () -> setOnAll(CHANGED));
    assertEquals(FORMER, agent.get("2").options().get(OPTION));
    assertEquals(FORMER, stored());
  }

  /** Who repairs the record finds it as it is. */
  @Test
  void shouldNotReplaceARecordThatCannotBeRead() {
    final EndpointRecord damaged = agent.store.load().get(1);
    agent.store.remove(damaged.id());
    agent.damagedAtLoad = Map.of(damaged.id(), "checksum differs");
    agent.restart();
    assertEquals(EndpointState.INVALID, agent.get("2").state());
    setOnAll(CHANGED);
    assertEquals(agent.damagedAtLoad, agent.store.unreadable());
    assertEquals(List.of(1), agent.store.load().stream().map(EndpointRecord::id).toList());
  }
}
