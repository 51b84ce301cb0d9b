mod corners;
mod cycles;
mod loss;
mod traffic;
