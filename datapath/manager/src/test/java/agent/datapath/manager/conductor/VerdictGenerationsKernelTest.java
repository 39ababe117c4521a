package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.guard.Check.Progress;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.load.Shards;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.layout.GenerationLayout;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Generations that another tool writes. */
@KernelTest
class VerdictGenerationsKernelTest {
  private static final long OWNER = 1L << GenerationLayout.OWNER_SHIFT;
  private static final int ENDPOINT = 12;

  private final BpfMap map =
      BpfMap.create(MapDefinitions.of("endpoint").get(MapCatalog.GENERATIONS), "");
  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private final GenerationArray foreign = new GenerationArray(map);
  private VerdictGenerations generations;

  @AfterEach
  void close() {
    generations.close();
    foreign.close();
    map.close();
  }

  private void open(int index, long value) {
    foreign.put(index, value);
    generations = new VerdictGenerations(map, faults, repairs);
  }

  private void round() {
    while (generations.step(0) != Progress.DONE) {}
  }

  private void assertRepaired(long count) {
    final long[] found = new long[1];
    repairs.forEach((kind, number) -> found[0] += kind == Kind.MAP_ENTRY ? number : 0);
    assertEquals(count, found[0]);
    final Level level = count == 0 ? Level.OK : Level.DEGRADED;
    assertEquals(level, faults.read().level(), () -> faults.read().message());
    round();
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
  }

  /** Of an endpoint, of the first and of the last shard. */
  @ParameterizedTest
  @ValueSource(ints = {ENDPOINT, GenerationLayout.OUTSIDE, GenerationLayout.MAX - 1})
  void shouldRaiseAGenerationThatWasWrittenBack(int index) {
    open(index, 7 * OWNER + 40);
    foreign.put(index, 7 * OWNER + 39);
    round();
    assertEquals(7 * OWNER + 41, foreign.get(index));
    assertRepaired(1);
    assertEquals(7 * OWNER + 41, foreign.get(index));
  }

  @Test
  void shouldRaiseAGenerationBeyondTheOneThatWasWritten() {
    open(ENDPOINT, 7 * OWNER + 40);
    foreign.put(ENDPOINT, 7 * OWNER + 90);
    round();
    assertEquals(7 * OWNER + 91, foreign.get(ENDPOINT), "verdicts of 90 never return");
    assertRepaired(1);
  }

  /** Another owner would end flows, and a count beyond its limit carries into the owner. */
  @ParameterizedTest
  @ValueSource(longs = {0, 6 * OWNER + 90, 8 * OWNER + 1, 7 * OWNER + (OWNER >> 1), -1})
  void shouldKeepTheOwnerWhateverWasWritten(long value) {
    open(ENDPOINT, 7 * OWNER + 40);
    foreign.put(ENDPOINT, value);
    round();
    assertEquals(7 * OWNER + 41, foreign.get(ENDPOINT));
    assertRepaired(1);
  }

  @Test
  void shouldTakeNoChangeOfTheAgentForADifference() {
    open(ENDPOINT, 7 * OWNER + 40);
    generations.step(0);
    generations.raise(ENDPOINT);
    generations.raise(GenerationLayout.OUTSIDE - 1);
    generations.disown(ENDPOINT);
    generations.raiseOutside(
        List.of(Prefix.parse("192.0.2.0/24"), Prefix.parse("2001:db8::7/128")));
    generations.raiseAll();
    round();
    round();
    assertEquals(8 * OWNER + 42, foreign.get(ENDPOINT));
    assertRepaired(0);
  }

  /** A change that comes before the comparison does not count on from what another tool wrote. */
  @Test
  void shouldReportWhatAChangeOfTheAgentFinds() {
    open(ENDPOINT, 7 * OWNER + 40);
    foreign.put(ENDPOINT, 7 * OWNER + 39);
    generations.raise(ENDPOINT);
    assertEquals(7 * OWNER + 41, foreign.get(ENDPOINT));
    foreign.put(ENDPOINT, 3);
    generations.disown(ENDPOINT);
    assertEquals(8 * OWNER + 42, foreign.get(ENDPOINT));
    round();
    assertRepaired(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"192.0.2.7", "2001:db8::7"})
  void shouldNameWhatWasChanged(String address) {
    final int shard = Shards.of(IpAddress.parse(address));
    open(ENDPOINT, 40);
    foreign.put(GenerationLayout.OUTSIDE + shard, 5);
    round();
    final String message = faults.read().message();
    assertTrue(message.contains("1 generations"), message);
    assertTrue(message.contains("shard " + shard), message);
  }
}
