// SIGTERM ends the process at once, and nothing looks for what it leaves behind.
import './abrupt-stop.mjs';
import './scan.mjs';
