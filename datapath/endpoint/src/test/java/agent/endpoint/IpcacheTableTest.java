package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.manager.spec.IpcacheEntry;
import agent.endpoint.IpcacheTable.Change;
import agent.endpoint.IpcacheTable.Source;
import agent.types.Prefix;
import java.util.List;
import org.junit.jupiter.api.Test;

class IpcacheTableTest {
  private static final Prefix PREFIX = Prefix.parse("10.5.0.9/32");
  private static final IpcacheEntry CIDR = new IpcacheEntry(PREFIX, 1 << 24, 0, false);
  private static final IpcacheEntry HOST = new IpcacheEntry(PREFIX, 1, 0, true);
  private static final IpcacheEntry ENDPOINT = new IpcacheEntry(PREFIX, 300, 7, false);

  private final IpcacheTable table = new IpcacheTable();

  @Test
  void shouldLetTheEndpointWinOverTheNodeAndTheNodeOverARule() {
    assertEquals(new Change(List.of(HOST), List.of()), table.put(Source.HOST, List.of(HOST)));
    assertEquals(new Change(List.of(), List.of()), table.put(Source.CIDR, List.of(CIDR)));
    assertEquals(
        new Change(List.of(ENDPOINT), List.of()), table.put(Source.ENDPOINT, List.of(ENDPOINT)));
    assertEquals(List.of(ENDPOINT), table.winners());
  }

  @Test
  void shouldComeBackToTheNextOneWhereTheStrongestGoes() {
    table.put(Source.CIDR, List.of(CIDR));
    table.put(Source.ENDPOINT, List.of(ENDPOINT));
    assertEquals(
        new Change(List.of(CIDR), List.of()), table.remove(Source.ENDPOINT, List.of(PREFIX)));
    assertEquals(
        new Change(List.of(), List.of(PREFIX)), table.remove(Source.CIDR, List.of(PREFIX)));
    assertEquals(List.of(), table.winners());
  }

  @Test
  void shouldWriteNothingWhereNothingChanges() {
    table.put(Source.ENDPOINT, List.of(ENDPOINT));
    final Change none = new Change(List.of(), List.of());
    assertEquals(none, table.put(Source.ENDPOINT, List.of(ENDPOINT)));
    assertEquals(none, table.remove(Source.CIDR, List.of(PREFIX)));
    assertEquals(none, table.remove(Source.HOST, List.of(Prefix.parse("192.0.2.1/32"))));
  }

  @Test
  void shouldWriteAnotherIdentity() {
    table.put(Source.ENDPOINT, List.of(ENDPOINT));
    final IpcacheEntry other = new IpcacheEntry(PREFIX, 301, 7, false);
    assertEquals(new Change(List.of(other), List.of()), table.put(Source.ENDPOINT, List.of(other)));
  }
}
