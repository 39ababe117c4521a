package agent.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.contract.monitor.MonitorStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MonitorStreamTest {
  @ParameterizedTest
  @CsvSource({
    "/run/agent/agent.sock, /run/agent/agent-monitor.sock",
    "/run/agent/api, /run/agent/api-monitor.sock",
    ".sock, -monitor.sock"
  })
  void shouldPutTheSocketOfTheStreamBesideThatOfTheApi(String api, String stream) {
    assertEquals(stream, MonitorStream.socketBeside(api));
  }
}
