/** What the running kernel can do, found by trying it. */
package agent.launcher.kernel;
